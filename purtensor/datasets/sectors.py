"""The sectors of the wage study: the paper's seven, with manufacturing, which it does not name, as an eighth."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SALES = "A-sales-trade"
FINANCE = "B-finance-professional-hospitality"
EDUCATION = "C-education-social-art-other"
MEDICAL = "D-medical"
TRANSPORT = "E-transport-communication-utilities"
AGRICULTURE = "F-agriculture-mining-construction"
PUBLIC = "G-public-administration"
MANUFACTURING = "H-manufacturing"

# the default sector of each industry of the Census-Income data
CENSUS_SECTORS: Mapping[str, str] = MappingProxyType(
    {
        "Retail trade": SALES,
        "Wholesale trade": SALES,
        "Finance insurance and real estate": FINANCE,
        "Business and repair services": FINANCE,
        "Other professional services": FINANCE,
        "Personal services except private HH": FINANCE,
        "Education": EDUCATION,
        "Social services": EDUCATION,
        "Entertainment": EDUCATION,
        "Private household services": EDUCATION,
        "Hospital services": MEDICAL,
        "Medical except hospital": MEDICAL,
        "Transportation": TRANSPORT,
        "Communications": TRANSPORT,
        "Utilities and sanitary services": TRANSPORT,
        "Agriculture": AGRICULTURE,
        "Forestry and fisheries": AGRICULTURE,
        "Mining": AGRICULTURE,
        "Construction": AGRICULTURE,
        "Public administration": PUBLIC,
        "Manufacturing-durable goods": MANUFACTURING,
        "Manufacturing-nondurable goods": MANUFACTURING,
    }
)

# the default sector of each industry indicator of the gender-pay-gap file; `transport` there is an occupation
CPS_SECTORS: Mapping[str, str] = MappingProxyType(
    {
        "retailtrade": SALES,
        "wholesaletrade": SALES,
        "finance": FINANCE,
        "professional": FINANCE,
        "hotelsrestaurants": FINANCE,
        "Education": EDUCATION,
        "SocArtOther": EDUCATION,
        "Medical": MEDICAL,
        "Transport": TRANSPORT,
        "Communications": TRANSPORT,
        "Utilities": TRANSPORT,
        "Agriculture": AGRICULTURE,
        "miningconstruction": AGRICULTURE,
        "publicadmin": PUBLIC,
        "durables": MANUFACTURING,
        "nondurables": MANUFACTURING,
    }
)
